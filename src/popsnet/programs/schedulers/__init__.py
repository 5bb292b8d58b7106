"""The schedulers that ship, one idea per file. Importing this package registers them."""

from popsnet.programs.schedulers import aloha as aloha
from popsnet.programs.schedulers import epochs as epochs
from popsnet.programs.schedulers import hop3 as hop3
from popsnet.programs.schedulers import ideal as ideal
from popsnet.programs.schedulers import relay as relay
from popsnet.programs.schedulers import rotor as rotor
from popsnet.programs.schedulers import tdm as tdm
from popsnet.programs.schedulers import vlb as vlb
