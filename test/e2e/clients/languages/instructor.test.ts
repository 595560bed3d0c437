/** Instructor, whose packages disagree with those of other clients. */
import { testForeignClients } from "../../../support/clients/foreign.ts";

await testForeignClients("instructor");
