/** A table with a head; it scrolls sideways if the window is too narrow. */
import type { ComponentChildren } from "preact";

/** Title of a column and its classes: `number` is aligned to the right, `wide` is hidden in narrow windows, `unseen` has a title only for screen readers. */
export type Column = readonly [title: string, classes?: "number" | "wide" | "wide number" | "unseen"];

interface TableProps {
  readonly columns: readonly Column[];
  /** Rows of the table's body. */
  readonly children: ComponentChildren;
}

export const Table = ({ columns, children }: TableProps) => (
  <div class="table-scroll">
    <table>
      <thead>
        <tr>
          {columns.map(([title, classes]) =>
            classes === "unseen" ? (
              <th scope="col" key={title}>
                <span class="unseen">{title}</span>
              </th>
            ) : (
              <th scope="col" class={classes} key={title}>
                {title}
              </th>
            ),
          )}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </div>
);
