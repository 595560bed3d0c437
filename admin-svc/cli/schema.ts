/** schema: migrate. */
import { sql } from "kysely";
import { grantRuntime } from "../store/roles.ts";
import { type Commands, exactly } from "./command.ts";

export const schema: Commands = {
  migrate: {
    usage: "",
    summary: "Brings the database to the schema of this build, says which that is, and grants the role to serve in.",
    details: ["Every other command and every start of admin-svc does the same first, where it may."],
    async run(args, { database, print }) {
      exactly(args);
      await grantRuntime(await database());
      const { rows } = await sql<{ name: string }>`select max(name) as name from kysely_migration`.execute(
        await database(),
      );
      print(`schema ${rows[0]?.name}`);
    },
  },
};
