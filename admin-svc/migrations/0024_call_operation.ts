/**
 * Purpose and payer of each call in separate columns. The column `kind` combined both; a trigger keeps it up to date
 * while a process of the preceding build writes or reads it. Most records are answers paid by the key: the defaults fit
 * these without a rewrite. The worker that adds earlier calls to their turns sets the purpose of all others.
 */
import { type Kysely, sql } from "kysely";

const operations = [
  "turn",
  "judge",
  "moderation",
  "classifier",
  "search",
  "fetch",
  "ocr",
  "image",
  "panel",
  "analyst",
  "advisor",
  "subagent",
  "sandbox",
  "mcp",
  "embed",
];

/** Operations whose kind has the prefix `charged_` when the key pays. */
const chargeable = sql.raw("'judge', 'moderation', 'classifier', 'ocr'");
const operationOfKind = sql.raw(
  "case when kind = 'primary' then 'turn' else regexp_replace(kind, '^charged_', '') end",
);

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    alter table usage_records
      add column operation text not null default 'turn',
      add column payer text not null default 'key',
      add constraint usage_records_operation_check
        check (operation in (${sql.join(operations.map((operation) => sql.lit(operation)))})) not valid,
      add constraint usage_records_payer_check check (payer in ('key', 'operator')) not valid`.execute(database);
  await sql`
    create function usage_records_purpose() returns trigger language plpgsql as $$
    declare
      kind text := new.kind;
    begin
      if kind <> 'primary' then
        new.operation := ${operationOfKind};
        new.payer := case when kind in (${chargeable}) then 'operator' else 'key' end;
      elsif new.payer = 'operator' then
        new.kind := case when new.operation in (${chargeable}) then new.operation else 'judge' end;
      elsif new.operation in (${chargeable}) then
        new.kind := 'charged_' || new.operation;
      elsif new.operation in ('panel', 'analyst', 'advisor', 'image') then
        new.kind := new.operation;
      elsif new.operation not in ('turn', 'embed') then
        new.kind := 'advisor';
      end if;
      return new;
    end $$`.execute(database);
  await sql`
    create trigger usage_records_purpose before insert on usage_records for each row
    when (new.kind <> 'primary' or new.operation <> 'turn' or new.payer <> 'key')
    execute function usage_records_purpose()`.execute(database);
}
