/** Clients in Python, in their newest versions. */
import { testForeignClients } from "../../../support/clients/foreign.ts";

await testForeignClients("python3");
