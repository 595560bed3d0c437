/** An address or a network in the configuration file. */
import { z } from "zod";

export const network = z
  .union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], "an address, or a network such as 10.0.0.0/8")
  .refine((text) => !text.endsWith("/0"), "everybody could be anybody: name the proxy");
