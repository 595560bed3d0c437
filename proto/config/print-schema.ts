/** Prints the JSON Schema of the configuration file, for editors. `npm run gen` updates the copy next to the default file. */
import { z } from "zod";
import { configSchema } from "./schema.ts";

process.stdout.write(`${JSON.stringify(z.toJSONSchema(configSchema, { io: "input" }), null, 2)}\n`);
