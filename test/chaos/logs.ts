/** The logs between a listener, jobs and the aggregator of a network, over the runs of its processes: in-process, or topics of a real Kafka. */
import type { ClickHouseClient } from '@clickhouse/client'
import { positionAfterStored, positionInLog } from '../../aggregator/ledger/resume.ts'
import type { LogPosition } from '../../aggregator/store/version.ts'
import { inProcessLog } from '../../infra/kafka/in-process.ts'
import { kafkaBackfillLog, kafkaLog } from '../../infra/kafka/kafka.ts'
import type { Message, RangeOverwrite } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { TickLog } from '../../ingest/model/tick-log.ts'

export type Logs = {
  stream: TickLog
  history: TickLog<RangeOverwrite>
  /** Where the aggregator of this life begins to read. */
  position(client: ClickHouseClient): Promise<LogPosition>
  close(): Promise<void>
}

export type LogKind = {
  /** True where a message that was appended once is there for every process to come. */
  isRetained: boolean
  /** For one life. */
  open(network: NetworkName): Promise<Logs>
}

export const IN_PROCESS: LogKind = {
  isRetained: false,
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
