/** Metrics of the log between ingest and aggregator: who reads it, what was set aside, how often Kafka had to be asked again. */
import { Counter, Gauge, type Registry } from 'prom-client'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { FactHandlers } from './fact.ts'

export function logMetrics(registry: Registry, networks: readonly NetworkName[]): FactHandlers {
  const registers = [registry]
  const ofTopic = ['topic'] as const
  const rejected = new Counter({
    name: 'candlepool_messages_rejected_total',
    help: "Messages in quarantine: they are no messages, or the tables can't hold them.",
    labelNames: ['network'] as const,
    registers,
  })
  const lost = new Counter({
    name: 'candlepool_rejected_not_copied_total',
    help: 'Rejected messages that could not be copied into quarantine.',
    labelNames: ofTopic,
    registers,
  })
  const reading = new Gauge({
    name: 'candlepool_log_reading',
    help: '1 where this process reads the topic, 0 where it stands by.',
    labelNames: ofTopic,
    registers,
  })
  const retries = new Counter({
    name: 'candlepool_log_retries_total',
    help: 'Steps against Kafka that failed and were tried again.',
    labelNames: ['topic', 'step'] as const,
    registers,
  })
  const begunLater = new Counter({
    name: 'candlepool_log_begun_later_total',
    help: 'Times that Kafka had deleted messages which were not read yet.',
    labelNames: ofTopic,
    registers,
  })
  const dropped = new Counter({
    name: 'candlepool_log_parts_dropped_total',
    help: 'Messages that their writer left incomplete.',
    labelNames: ofTopic,
    registers,
  })
  const complaints = new Counter({
    name: 'candlepool_kafka_client_complaints_total',
    help: 'What the Kafka client would have printed, by its severity.',
    labelNames: ['severity'] as const,
    registers,
  })
  for (const network of networks) rejected.inc({ network }, 0)

  return {
    'message-rejected': (fact) => rejected.inc({ network: 'network' in fact ? fact.network : networkOf(fact.topic) }),
    'rejected-not-copied': ({ topic }) => lost.inc({ topic }),
    'log-reading': ({ topic }) => {
      reading.set({ topic }, 1)
      for (const counter of [lost, begunLater, dropped]) counter.inc({ topic }, 0)
    },
    'log-standing-by': ({ topic }) => reading.set({ topic }, 0),
    'stage-restarted': ({ stage, network }) => {
      if (stage === 'aggregator')
        for (const topic of [`blocks.${network}`, `backfill.${network}`]) reading.remove({ topic })
    },
    'log-retried': ({ topic, step }) => retries.inc({ topic, step }),
    'log-begins-later': ({ topic }) => begunLater.inc({ topic }),
    'log-parts-dropped': ({ topic }) => dropped.inc({ topic }),
    'kafka-client': ({ severity }) => complaints.inc({ severity }),
  }
}

/** The network is a topic's last word. */
function networkOf(topic: string): string {
  return topic.slice(topic.lastIndexOf('.') + 1)
}
