"""The schedulers that ship, one idea per file. Importing this package registers them."""

from popsnet.traffic.schedulers import aloha as aloha
from popsnet.traffic.schedulers import epochs as epochs
from popsnet.traffic.schedulers import hop3 as hop3
from popsnet.traffic.schedulers import ideal as ideal
from popsnet.traffic.schedulers import relay as relay
from popsnet.traffic.schedulers import rotor as rotor
from popsnet.traffic.schedulers import tdm as tdm
from popsnet.traffic.schedulers import vlb as vlb
