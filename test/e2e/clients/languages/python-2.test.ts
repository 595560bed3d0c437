/** Clients in Python, in their previous major versions. */
import { testForeignClients } from "../../../support/clients/foreign.ts";

await testForeignClients("python2");
