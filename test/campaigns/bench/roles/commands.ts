/** The child's side of a role: commands arrive over the channel to the parent, and results go back. */

/** Functions by name, each with at most one argument. Results must survive structured cloning. */
export type Commands = Readonly<Record<string, (argument: never) => unknown>>;

export interface RoleCall {
  readonly id: number;
  readonly name: string;
  readonly argument: unknown;
}

export type RoleReply =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly error: string };

/** Serves commands until the parent is gone: an orphaned role would load the machine unnoticed. */
export function serve(commands: Commands): void {
  process.on("message", (call: RoleCall) => {
    void answer(commands, call).then((reply) => process.send?.(reply));
  });
  process.on("disconnect", () => process.exit(0));
}

async function answer(commands: Commands, { id, name, argument }: RoleCall): Promise<RoleReply> {
  try {
    const command = commands[name];
    if (command === undefined) throw new Error(`unknown command: ${name}`);
    return { id, result: await command(argument as never) };
  } catch (error) {
    return { id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}
