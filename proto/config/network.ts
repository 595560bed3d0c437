/** A network address or a range of addresses in the configuration file. */
import { z } from "zod";
import { isEverywhere, isNetwork, networkPattern } from "../lib/networks/networks.ts";

export const network = z
  .string()
  .refine(isNetwork, { error: "an address, or a network such as 10.0.0.0/8", abort: true })
  .refine((text) => !isEverywhere(text), "everybody could be anybody: name the proxy")
  .meta({ pattern: networkPattern });
