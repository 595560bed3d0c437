"""Runs one client: reads a line `door feature` from stdin, runs that function of the client's module, and writes one line of JSON with its outcome."""
import importlib
import json
import sys
import traceback

sys.path.insert(0, sys.path[0])
client = importlib.import_module(sys.argv[1])
print(json.dumps({"ready": True}), flush=True)
for line in sys.stdin:
    door, feature = line.split()
    try:
        getattr(client, f"{door}_{feature}")()
        outcome = {"passed": True}
    except BaseException:
        outcome = {"passed": False, "error": traceback.format_exc()[-4000:]}
    print(json.dumps(outcome), flush=True)
