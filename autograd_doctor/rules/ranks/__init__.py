"""Rules of several processes (AD9xx), which compare what ranks have recorded."""
