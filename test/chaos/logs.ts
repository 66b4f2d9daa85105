/** What joins a listener and jobs to the aggregator of a network, over the lives of its processes: hand-overs, or topics of a real Kafka. */
import type { ClickHouseClient } from '@clickhouse/client'
import { positionAfterStored, positionInLog } from '../../aggregator/ledger/resume.ts'
import type { Position } from '../../aggregator/store/version.ts'
import { inProcessLog } from '../../infra/kafka/in-process.ts'
import { kafkaHistory, kafkaLog } from '../../infra/kafka/kafka.ts'
import type { Message, Restatement } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { TickLog } from '../../ingest/model/tick-log.ts'

export type Roads = {
  stream: TickLog
  history: TickLog<Restatement>
  /** Where the aggregator of this life begins to read. */
  position(client: ClickHouseClient): Promise<Position>
  close(): Promise<void>
}

export type RoadKind = {
  /** True where a message that was appended once is there for every process to come. */
  keeps: boolean
  /** For one life. */
  open(network: NetworkName): Promise<Roads>
}

export const HAND_OVER: RoadKind = {
  keeps: false,
  async open(network) {
    const history = inProcessLog<Restatement>({ nextOffset: 0 })
    // Goes on above what is stored once its reader says where that is.
    const stream = inProcessLog<Message>({ nextOffset: 0 })
    return {
      stream,
      history,
      position: (client) => positionAfterStored(client, network),
      close: () => Promise.all([stream.close(), history.close()]).then(() => {}),
    }
  },
}

export function kafkaRoads(brokers: readonly string[]): RoadKind {
  return {
    keeps: true,
    async open(network) {
      const options = { brokers, network, report: () => {} }
      const [stream, history] = await Promise.all([kafkaLog(options), kafkaHistory(options)])
      return {
        stream,
        history,
        position: (client) => positionInLog(client, network, stream),
        close: () => Promise.all([stream.close(), history.close()]).then(() => {}),
      }
    },
  }
}
