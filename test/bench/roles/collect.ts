/** Loaded into the processes of the house: collects garbage when told to, so that memory in use can be told from what lies about. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;
process.on("SIGUSR2", collect);
