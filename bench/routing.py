"""Speed of prompt routing, with an index built in advance."""

from functools import partial
from random import Random

from clawperator.agent.inventory.inventory import InventoryEntry, PluginScan, command_inventory
from clawperator.agent.inventory.routing import Router
from measure import fastest

ENTRIES = 500
_SEED = 20_260_101
_ROUNDS = 200

# Different costs: few words, words of many entries, parts of words, more words than the limit.
PROMPTS = {
    "a sentence": "take a screenshot of the settings and save it",
    "common words": "show the phone, the app, the screen and all skills of the device on this computer",
    "parts of words": "ing tion ter pho cre vie ope ski rec ses",
    "a long text": " ".join(f"word{n} list phones" for n in range(4_000)),
}


def measure_routing() -> dict[str, float]:
    """Seconds per prompt over 500 entries: the real ones, and generated ones of the same words."""
    router = Router(_entries())
    return fastest({name: partial(router.route, text) for name, text in PROMPTS.items()}, _ROUNDS)


def measure_index() -> float:
    """Seconds to build the index of the same entries."""
    entries = _entries()
    return fastest({"index": lambda: Router(entries)}, _ROUNDS // 10)["index"]


def _entries() -> list[InventoryEntry]:
    random = Random(_SEED)
    entries = list(command_inventory("shipped", plugins=PluginScan()).entries)
    words = sorted({word for entry in entries for word in entry.responsibility.split()})
    while len(entries) < ENTRIES:
        number = len(entries)
        name = "-".join((*random.sample(words, 2), str(number))).lower()
        about = " ".join(random.choices(words, k=12))
        entries.append(InventoryEntry("tool" if number % 2 else "command", name, f"made/{name}.py", about))
    return entries
