/** Metrics of the log between ingest and aggregator: its readers, rejected messages, and repeated requests to Kafka. */
import type { Registry } from 'prom-client'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { FactHandlers } from './fact.ts'
import { instrumentsIn } from './instruments.ts'

export function logMetrics(registry: Registry, networks: readonly NetworkName[]): FactHandlers {
  const { counter, gauge } = instrumentsIn(registry)
  const ofTopic = ['topic'] as const
  const rejected = counter(
    'candlepool_messages_rejected_total',
    "Messages in quarantine: they are no messages, or the tables can't hold them.",
  )
  const lost = counter(
    'candlepool_rejected_not_copied_total',
    'Rejected messages that could not be copied into quarantine.',
    ofTopic,
  )
  const reading = gauge(
    'candlepool_log_reading',
    '1 where this process reads the topic, 0 where it stands by.',
    ofTopic,
  )
  const retries = counter('candlepool_log_retries_total', 'Steps against Kafka that failed and were tried again.', [
    'topic',
    'step',
  ])
  const begunLater = counter(
    'candlepool_log_begun_later_total',
    'Times that Kafka had deleted messages which were not read yet.',
    ofTopic,
  )
  const dropped = counter('candlepool_log_parts_dropped_total', 'Messages that their writer left incomplete.', ofTopic)
  const complaints = counter(
    'candlepool_kafka_client_complaints_total',
    'What the Kafka client would have printed, by its severity.',
    ['severity'],
  )
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
