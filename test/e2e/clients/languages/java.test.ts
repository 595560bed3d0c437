/** Clients in Java. */
import { testForeignClients } from "../../../support/clients/foreign.ts";

await testForeignClients("java");
