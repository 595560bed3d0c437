/** Clients in Go. */
import { testForeignClients } from "../../../support/clients/foreign.ts";

await testForeignClients("go");
