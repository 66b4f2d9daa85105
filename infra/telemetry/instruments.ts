/** Short constructors of Prometheus metrics in one registry. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

/** Label names default to `network`. */
export function instrumentsIn(registry: Registry) {
  const registers = [registry]
  return {
    counter: <Label extends string = 'network'>(
      name: string,
      help: string,
      labelNames: readonly Label[] = ['network'] as never,
    ) => new Counter({ name, help, labelNames, registers }),
    gauge: <Label extends string = 'network'>(
      name: string,
      help: string,
      labelNames: readonly Label[] = ['network'] as never,
    ) => new Gauge({ name, help, labelNames, registers }),
    histogram: <Label extends string = 'network'>(
      name: string,
      help: string,
      buckets: number[],
      labelNames: readonly Label[] = ['network'] as never,
    ) => new Histogram({ name, help, buckets, labelNames, registers }),
  }
}

/** From a quarter of a millisecond, since a warm answer takes less than one. */
export const SECONDS = [
  0.00025, 0.0005, 0.00075, 0.001, 0.0015, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
]
export const DEPTH_BLOCKS = [1, 2, 3, 5, 8, 16, 32, 64, 128, 512]
/** A flush has the ticks of one block, or of many blocks while history is read. */
export const ROWS = [0, 1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000]
