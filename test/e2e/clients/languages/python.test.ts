/** Clients in Python, of the newest packages. */
import { testForeignClients } from "../../../support/clients/foreign.ts";

await testForeignClients("python3");
