/** schema: migrate. */
import { sql } from "kysely";
import { type Commands, exactly } from "./command.ts";

export const schema: Commands = {
  migrate: {
    usage: "",
    summary: "Brings the database to the schema of this build, and says which that is.",
    details: ["Every other command and every start of admin-svc does the same first, where it may."],
    async run(args, { database, print }) {
      exactly(args);
      const { rows } = await sql<{ name: string }>`select max(name) as name from kysely_migration`.execute(
        await database(),
      );
      print(`schema ${rows[0]?.name}`);
    },
  },
};
