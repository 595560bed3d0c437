/**
 * Decides whether the console opens with the welcome page: from the first visit of an installation without requests, until its steps are done or
 * dismissed.
 */
import { hasRole, session } from "../api/session.ts";

const name = "sluice-welcome";

/** Whether the role of the person allows all steps of the welcome page. */
const isForThisPerson = (): boolean => session.peek()?.account === true && hasRole("admin");

/** @param hasRequests whether the workspace has had requests recently */
export function isWelcomeDue(hasRequests: boolean): boolean {
  const state = localStorage.getItem(name);
  return isForThisPerson() && (state === "begun" || (state === null && !hasRequests));
}

export function beginWelcome(): void {
  if (localStorage.getItem(name) === null) localStorage.setItem(name, "begun");
}

export const endWelcome = (): void => localStorage.setItem(name, "over");
