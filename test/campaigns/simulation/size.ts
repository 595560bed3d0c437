/** Numbers that determine the extent of a simulation. */
export interface Size {
  readonly replicas: number;
  readonly keys: number;
  /** Requests per second of all replicas together, in the simulation of outages. */
  readonly requestsPerSecond: number;
  /** Simulated seconds after an outage. */
  readonly afterS: number;
  /** Requests per second of all replicas together, in the simulation of key reads. Only one of these replicas is simulated. */
  readonly readRequestsPerSecond: number;
  /** Seconds in which the caches fill. */
  readonly fillS: number;
}
