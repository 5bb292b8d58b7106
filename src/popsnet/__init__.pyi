"""The public names, for type checkers; they are imported when they are first used."""

from . import adversaries as adversaries
from . import exact as exact
from . import paper as paper
from . import plots as plots
from . import schedules as schedules
from . import sorting as sorting
from . import stats as stats
from . import testing as testing
from . import theory as theory
from . import traffic as traffic
from .advice.comparison import compare as compare
from .advice.prediction import predict as predict
from .advice.recommendation import recommend as recommend
from .advice.survival import survival as survival
from .coins import Coins as Coins
from .computing.computation import compute as compute
from .computing.computation import sort as sort
from .engines import Outcome as Outcome
from .engines import Tally as Tally
from .errors import InputError as InputError
from .errors import PermutationError as PermutationError
from .errors import PopsnetError as PopsnetError
from .errors import Rule as Rule
from .errors import RuleViolation as RuleViolation
from .errors import SizeError as SizeError
from .errors import StoreError as StoreError
from .errors import TraceFormatError as TraceFormatError
from .experiment import Experiment as Experiment
from .faults import Faults as Faults
from .machine import Machine as Machine
from .memory import Memory as Memory
from .network import Network as Network
from .notebook import view as view
from .permutations import make_permutation as make_permutation
from .routing import Router as Router
from .routing import all_routers as all_routers
from .routing import find_router as find_router
from .routing import register as register
from .routing import register_relation as register_relation
from .routing import register_variant as register_variant
from .runs.distribution import RunsDistribution as RunsDistribution
from .runs.distribution import distribution as distribution
from .runs.route import route as route
from .runs.run import Run as Run
from .runs.run import Runs as Runs
from .runs.schedule import schedule as schedule
from .slot import NO_PACKET as NO_PACKET
from .slot import Inbox as Inbox
from .slot import Kind as Kind
from .slot import Slot as Slot
from .stats.inference import summarize as summarize
from .sweeps.rescue import rescue as rescue
from .sweeps.runner import collect as collect
from .sweeps.store import Store as Store
from .sweeps.sweep import Sweep as Sweep
from .sweeps.verify import verify as verify
from .trace.checker import check_trace as check_trace
from .traffic.simulate import simulate as simulate
from .viewer import Page as Page

__version__: str

__all__: list[str]
