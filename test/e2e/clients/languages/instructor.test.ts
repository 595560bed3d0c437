/** Instructor: its packages conflict with those of other clients. */
import { testForeignClients } from "../../../support/clients/foreign.ts";

await testForeignClients("instructor");
