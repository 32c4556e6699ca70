from autograd_doctor.api.asserting import assert_healthy as assert_healthy
from autograd_doctor.api.checking import check as check
from autograd_doctor.api.monitoring import Monitor as Monitor
from autograd_doctor.api.monitoring import TrainingStopped as TrainingStopped
from autograd_doctor.api.monitoring import monitor as monitor
from autograd_doctor.api.rendering import render as render
from autograd_doctor.api.shown_report import Report as Report
from autograd_doctor.api.watching import Watched as Watched
from autograd_doctor.api.watching import watch as watch
from autograd_doctor.mistakes import Mistake as Mistake

__version__: str
