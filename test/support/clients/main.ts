/** Writes the table of tested clients into the clients page. */
import { readFileSync, writeFileSync } from "node:fs";
import { clientsPage, withTable } from "./table.ts";

writeFileSync(clientsPage, withTable(readFileSync(clientsPage, "utf8")));
