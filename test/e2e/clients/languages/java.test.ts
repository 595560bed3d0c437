/** Clients in Java. */
import { testForeignClients } from "../../../support/clients/foreign.ts";

testForeignClients("java");
