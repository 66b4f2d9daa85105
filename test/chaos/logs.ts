/** The logs between a listener, jobs and the aggregator of a network, over the runs of its processes: in-process, or topics of a real Kafka. */
import type { ClickHouseClient } from '@clickhouse/client'
import { PUBLISHED_KINDS, type PublishSink } from '../../aggregator/extras/publish/publication.ts'
import { positionAfterStored, positionInLog } from '../../aggregator/ledger/resume.ts'
import type { LogPosition } from '../../aggregator/store/version.ts'
import { inProcessLog } from '../../infra/kafka/in-process.ts'
import { kafkaBackfillLog, kafkaLog } from '../../infra/kafka/kafka.ts'
import { openPublicTopics } from '../../infra/kafka/public-topics.ts'
import type { Message, RangeOverwrite } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import { NETWORKS } from '../../ingest/model/networks.ts'
import type { TickLog } from '../../ingest/model/tick-log.ts'
import { foldTopics, rowsOfFolded, rowsOfReader, type TopicRows } from '../aggregator/extras/publish/folded-topics.ts'
import { openTopicReader, type TopicReader } from '../client/topics.ts'
import { kafkaClient } from '../e2e/cluster.ts'

export type Logs = {
  stream: TickLog
  history: TickLog<RangeOverwrite>
  /** Where the aggregator of this life begins to read. */
  position(client: ClickHouseClient): Promise<LogPosition>
  close(): Promise<void>
}

/** Public topics of a network over the runs of its processes. */
export type PublishedTo = {
  /** For one life. */
  open(closed: AbortSignal): PublishSink & { close(): Promise<void> }
  /** All that a consumer has by now. */
  rows(): Promise<TopicRows>
  close(): Promise<void>
}

export type LogKind = {
  /** True where a message that was appended once is there for every process to come. */
  isRetained: boolean
  /** For one life. */
  open(network: NetworkName): Promise<Logs>
  /** For all lives. */
  publicTopics(network: NetworkName): PublishedTo
}

export const IN_PROCESS: LogKind = {
  isRetained: false,
  publicTopics() {
    const folded = foldTopics()
    const close = async () => {}
    return { open: () => ({ ...folded.sink, close }), rows: async () => rowsOfFolded(folded), close }
  },
  async open(network) {
    const history = inProcessLog<RangeOverwrite>({ nextOffset: 0 })
    // Continues above the stored offset once its reader sets it.
    const stream = inProcessLog<Message>({ nextOffset: 0 })
    return {
      stream,
      history,
      position: (client) => positionAfterStored(client, network),
      close: () => Promise.all([stream.close(), history.close()]).then(() => {}),
    }
  },
}

export function kafkaLogs(brokers: readonly string[]): LogKind {
  return {
    isRetained: true,
    publicTopics(network) {
      const names = { ticks: `ticks.${network}`, candles: `candles.${network}`, pools: `pools.${network}` }
      let reader: Promise<TopicReader> | undefined
      return {
        open(closed) {
          const kinds = new Set(PUBLISHED_KINDS)
          return openPublicTopics(
            { brokers },
            { network: { ...NETWORKS.ethereum, name: network }, kinds, report: () => {}, closed },
          )
        },
        async rows() {
          reader ??= openTopicReader(kafkaClient(brokers), names, `consumer of ${network}`)
          const opened = await reader
          await opened.catchUp()
          return rowsOfReader(opened)
        },
        close: async () => (await reader)?.close(),
      }
    },
    async open(network) {
      const options = { brokers, network, report: () => {} }
      const [stream, history] = await Promise.all([kafkaLog(options), kafkaBackfillLog(options)])
      return {
        stream,
        history,
        position: (client) => positionInLog(client, network, stream),
        close: () => Promise.all([stream.close(), history.close()]).then(() => {}),
      }
    },
  }
}
