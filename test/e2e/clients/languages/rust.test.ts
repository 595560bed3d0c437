/** Clients in Rust. */
import { testForeignClients } from "../../../support/clients/foreign.ts";

testForeignClients("rust");
