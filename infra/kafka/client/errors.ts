/** How the log fails. `retryable` tells the caller's loop whether to start again from its own store or to stop. */
import type { Offset } from '../../../ingest/model/tick-log.ts'
import { hintOfCode } from './hints.ts'

/** Another process reads now, or may have read in between: the caller's position in the log is out of date. */
export class AssignmentLost extends Error {
  override readonly name = 'AssignmentLost'
  readonly retryable = true
  constructor(topic: string, why: string, options?: ErrorOptions) {
    super(
      `The reading of ${topic} was taken from this process: ${why}. Read the position from the store and call read() again.`,
      options,
    )
  }
}

/** The topic is this process's to read, but others read it while this one waited. */
export class PositionStale extends Error {
  override readonly name = 'PositionStale'
  readonly retryable = true
  constructor(topic: string, position: Offset) {
    super(
      `This process waited to be given ${topic}, so position ${position} may be long behind what another one has stored. Read the position from the store and call read() again.`,
    )
  }
}

/** The log has no such position: the topic was recreated, or its end was lost. */
export class PositionGone extends Error {
  override readonly name = 'PositionGone'
  readonly retryable = true
  constructor(topic: string, position: Offset, found: Offset) {
    super(
      `${topic} no longer has position ${position}: it continues at ${found}. The topic was recreated or lost its end. Ask at() whether the stored tip is still in the log, and if not read it from its beginning.`,
    )
  }
}

/** A topic that this client may not make, or cannot use. */
export class TopicUnsuitable extends Error {
  override readonly name = 'TopicUnsuitable'
  readonly retryable = false
  constructor(topic: string, problems: readonly string[]) {
    super(`The topic ${topic} cannot be used: ${problems.join('; ')}.`)
  }
}

/** Kafka says no, and would say it again. */
export class LogRefused extends Error {
  override readonly name = 'LogRefused'
  readonly retryable = false
  constructor(topic: string, step: string, code: string, options?: ErrorOptions) {
    super(`Kafka refused to ${step} ${topic}: ${code}. ${hintOfCode(code)}.`, options)
  }
}

/** Whether the messages are in the log is not known; publishing them again does no harm. */
export class LogClosed extends Error {
  override readonly name = 'LogClosed'
  readonly retryable = false
  constructor(what: string) {
    super(`${what} was closed before this was done. Nothing to do where the process is stopping.`)
  }
}

/** The reader stopped between taking the messages and storing them. */
export class ReaderEnded extends Error {
  override readonly name = 'ReaderEnded'
  readonly retryable = true
  constructor() {
    super('The reader of the log ended before it stored these messages. Publish them again from the stored tip.')
  }
}
