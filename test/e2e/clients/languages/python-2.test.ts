/** Clients in Python, of the major versions before. */
import { testForeignClients } from "../../../support/clients/foreign.ts";

await testForeignClients("python2");
