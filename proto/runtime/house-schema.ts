/** Prints the JSON Schema of the house file, for editors; `npm run gen` keeps the copy beside the default file current. */
import { z } from "zod";
import { houseSchema } from "./house-file.ts";

process.stdout.write(`${JSON.stringify(z.toJSONSchema(houseSchema, { io: "input" }), null, 2)}\n`);
