/** A database of its own for a test file. */
import { randomUUID } from "node:crypto";
import { Client } from "pg";

const server = "postgres://postgres@127.0.0.1:5432/";

export async function createDatabase(): Promise<{ url: string; drop(): Promise<void> }> {
  const name = `sluice_test_${randomUUID().replaceAll("-", "")}`;
  await run(`create database ${name}`);
  return { url: server + name, drop: () => run(`drop database ${name} with (force)`) };
}

async function run(statement: string): Promise<void> {
  const client = new Client(`${server}postgres`);
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
