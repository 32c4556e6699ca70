"""What the probes watch with: names, places, the ledger of gradients, lineage, walks over graphs."""
