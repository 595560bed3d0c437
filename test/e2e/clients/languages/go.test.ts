/** Clients in Go. */
import { testForeignClients } from "../../../support/clients/foreign.ts";

testForeignClients("go");
