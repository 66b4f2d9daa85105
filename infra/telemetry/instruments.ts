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
