/** Lists of network addresses and ranges in requests. */
import { isNetwork, networkPattern } from "../../lib/networks/networks.ts";
import { type Shape, array, string } from "../../lib/validation/shape.ts";

/** Text of a network. The maximum is more than an IPv6 network needs in its longest spelling. */
const text = string({ min: 1, max: 64 });

const network: Shape<string> = {
  ...text,
  check: (value, path, problems, or) => {
    const before = problems.count;
    text.check(value, path, problems, or);
    if (problems.count > before || isNetwork(value as string)) return;
    problems.add(path, `${value as string} is neither an address nor a network such as 10.0.0.0/8`);
  },
  schema: (components) => ({ ...text.schema(components), pattern: networkPattern }),
};

/** A list of networks. An empty list is refused, because it could be taken for all networks or for none. */
export const networkList = array(network, { min: 1, max: 50, entry: "network" });
