from .files import read_permutation as read_permutation
from .files import require_permutation as require_permutation
from .files import require_permutation_file as require_permutation_file
from .files import write_permutation as write_permutation
from .resolved import NAMES as NAMES
from .resolved import find_permutation as find_permutation
from .resolved import make_permutation as make_permutation
