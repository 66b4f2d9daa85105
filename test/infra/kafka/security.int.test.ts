/** A broker with TLS, SASL and access control: what works, and what each misconfiguration says. Nothing is lost, and it resumes once mended. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import kafkajs, { type Admin, type ITopicConfig } from 'kafkajs'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { readConfig } from '../../../infra/config/config.ts'
import type { LogFact } from '../../../infra/kafka/client/facts.ts'
import { type KafkaLog, kafkaLog } from '../../../infra/kafka/kafka.ts'
import type { Entry } from '../../../ingest/model/tick-log.ts'
import { kafkaClient } from '../../e2e/cluster.ts'
import { makeAuthority } from '../../support/certificates.ts'
import { asBlocks, fullBlocks, mine } from '../../support/chain.ts'
import { kafkaOrSkip, makeTopic } from '../../support/kafka.ts'
import { PASSWORD, type SecureCluster, startSecureCluster, USER } from '../../support/kafka-cluster.ts'
import { inSoak } from '../../support/sample.ts'
import { until } from '../../support/until.ts'

const BLOCKS = asBlocks('ethereum', mine([], fullBlocks(3, 1)))

const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs
type AclOperation = keyof typeof AclOperationTypes

type Environment = Record<string, string>

/** Opens the stream of `ethereum` as a process with this environment does. */
async function open(environment: Environment): Promise<{ facts: LogFact[]; opening: Promise<KafkaLog> }> {
  const { log } = readConfig(environment)
  if (log.kind !== 'kafka') throw new Error('KAFKA_BROKERS is set.')
  const facts: LogFact[] = []
  const stop = new AbortController()
  const opening = kafkaLog({ ...log, network: 'ethereum', report: (fact) => facts.push(fact), signal: stop.signal })
  opening.catch(() => undefined)
  onTestFinished(async () => {
    stop.abort()
    await opening.then((opened) => opened.close()).catch(() => undefined)
  })
  return { facts, opening }
}

async function writeAndRead(environment: Environment): Promise<void> {
  const { opening } = await open(environment)
  const log = await opening
  await log.append(BLOCKS)
  const stop = new AbortController()
  const read: Entry[] = []
  for await (const entries of log.read(0, stop.signal)) {
    read.push(...entries)
    if (read.length >= BLOCKS.length) stop.abort()
  }
  expect(read.map(({ message }) => message)).toEqual(BLOCKS)
}

/** A token as identity providers issue them, without a signature. */
function unsignedToken(validSeconds: number): string {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const now = Math.floor(Date.now() / 1000)
  const issued = now + Math.min(0, 2 * validSeconds)
  return `${encode({ alg: 'none' })}.${encode({ sub: USER, iat: issued, exp: now + validSeconds })}.`
}

/** The newest reason for a repetition. */
async function untilRetried({ facts }: { facts: LogFact[] }, says: RegExp): Promise<string> {
  return until(async () => {
    const errors = facts.flatMap((fact) => (fact.kind === 'log-retried' ? [fact.error] : []))
    return errors.find((error) => says.test(error))
  }, `an error says ${says}`)
}

const refusal = (opening: Promise<unknown>) =>
  opening.then(
    () => 'no error',
    (error: Error) => error.message,
  )

describe.skipIf(kafkaOrSkip().skip)('a broker with TLS and SASL', () => {
  let cluster: SecureCluster
  let base: Environment
  beforeAll(async () => {
    cluster = await startSecureCluster()
    base = {
      KAFKA_BROKERS: cluster.brokers.join(),
      KAFKA_SSL_CA_FILE: cluster.authority.caFile,
      KAFKA_SASL_USERNAME: USER,
      KAFKA_SASL_PASSWORD: PASSWORD,
    }
  })
  afterAll(() => cluster?.stop())

  test.each(['plain', 'scram-sha-256', 'scram-sha-512'])(
    'the broker is written and read with %s',
    async (mechanism) => {
      await writeAndRead({ ...base, KAFKA_SASL_MECHANISM: mechanism, KAFKA_TOPIC_PREFIX: `${mechanism}.` })
    },
  )

  describe('with oauthbearer', () => {
    let tokenFile: string
    let bearer: Environment
    const writeToken = (validSeconds: number) => writeFile(tokenFile, unsignedToken(validSeconds))
    beforeAll(() => {
      tokenFile = join(cluster.folder, 'token')
      bearer = {
        KAFKA_BROKERS: cluster.brokers.join(),
        KAFKA_SSL_CA_FILE: cluster.authority.caFile,
        KAFKA_SASL_MECHANISM: 'oauthbearer',
      }
    })

    test('the broker is written and read with a token of a file, and with one of a command', async () => {
      await writeToken(3_600)
      await writeAndRead({ ...bearer, KAFKA_SASL_TOKEN_FILE: tokenFile, KAFKA_TOPIC_PREFIX: 'token-file.' })
      const command = { KAFKA_SASL_TOKEN_COMMAND: `cat ${tokenFile}`, KAFKA_TOPIC_PREFIX: 'token-command.' }
      await writeAndRead({ ...bearer, ...command })
    })

    test('the broker refuses a token that has expired, and is used once the file holds another', async () => {
      await writeToken(-3_600)
      const environment = { ...bearer, KAFKA_SASL_TOKEN_FILE: tokenFile, KAFKA_TOPIC_PREFIX: 'token-renewed.' }
      const { facts, opening } = await open(environment)
      expect(await refusal(opening)).toBe(
        'Kafka refused to open token-renewed.blocks.ethereum: SASL_TOKEN_REFUSED. The broker does not accept the token: check what KAFKA_SASL_TOKEN_FILE holds, or KAFKA_SASL_TOKEN_COMMAND prints.',
      )
      expect(JSON.stringify(facts)).not.toContain(unsignedToken(-3_600).slice(0, 20))
      await writeToken(3_600)
      await writeAndRead(environment)
    })
  })

  test('the broker is written without compression, and with a client certificate', async () => {
    const { certFile, keyFile } = await cluster.authority.sign('client')
    const own = { KAFKA_SSL_CERT_FILE: certFile, KAFKA_SSL_KEY_FILE: keyFile, KAFKA_COMPRESSION: 'none' }
    await writeAndRead({ ...base, ...own, KAFKA_SASL_MECHANISM: 'plain', KAFKA_TOPIC_PREFIX: 'mutual.' })
  })

  test.each(['plain', 'scram-sha-256'])('says that a wrong password is not accepted with %s', async (mechanism) => {
    const { opening } = await open({ ...base, KAFKA_SASL_MECHANISM: mechanism, KAFKA_SASL_PASSWORD: 'wrong-password' })
    const message = await refusal(opening)
    expect(message).toBe(
      'Kafka refused to open blocks.ethereum: SASL_AUTHENTICATION_FAILED. The broker does not accept the credentials: check KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD.',
    )
    expect(message).not.toContain('wrong-password')
  })

  test('says that another authority signed its certificate', async () => {
    const { caFile } = await makeAuthority(cluster.folder, 'other')
    const opened = await open({ ...base, KAFKA_SASL_MECHANISM: 'plain', KAFKA_SSL_CA_FILE: caFile })
    expect(await untilRetried(opened, /KAFKA_SSL/)).toContain(
      "KAFKA_SSL_CA_FILE does not hold the authority that signed the broker's certificate",
    )
  })

  test('says that its certificate has expired, and is used once it is renewed', inSoak, async () => {
    const expired = await cluster.authority.sign('expired', -1)
    const renewed = await cluster.authority.sign('renewed')
    const environment = { ...base, KAFKA_SASL_MECHANISM: 'plain', KAFKA_TOPIC_PREFIX: 'renewed.' }
    const [broker] = cluster.nodes
    await broker?.kill()
    await broker?.restart(expired.bothFile)
    const opened = await open(environment)
    expect(await untilRetried(opened, /expired/)).toContain(
      "the broker's certificate has expired: renew it on the broker",
    )
    await broker?.kill()
    await broker?.restart(renewed.bothFile)
    await (await opened.opening).append(BLOCKS)
    await writeAndRead({ ...environment, KAFKA_TOPIC_PREFIX: 'renewed-again.' })
  })

  test('says that TLS meets a port without it, and the reverse', async () => {
    const plain = { ...base, KAFKA_BROKERS: cluster.operatorBrokers.join(), KAFKA_SASL_MECHANISM: 'plain' }
    expect(await untilRetried(await open(plain), /KAFKA_/)).toContain('this port does not speak TLS')
    const opened = await open({ KAFKA_BROKERS: base['KAFKA_BROKERS'] ?? '' })
    expect(await untilRetried(opened, /KAFKA_/)).toContain('set KAFKA_SSL=on')
  })
})

describe.skipIf(kafkaOrSkip().skip)('a broker with access control', () => {
  let cluster: SecureCluster
  let base: Environment
  beforeAll(async () => {
    cluster = await startSecureCluster({ isAuthorized: true })
    base = {
      KAFKA_BROKERS: cluster.brokers.join(),
      KAFKA_SSL_CA_FILE: cluster.authority.caFile,
      KAFKA_SASL_MECHANISM: 'scram-sha-512',
      KAFKA_SASL_USERNAME: USER,
      KAFKA_SASL_PASSWORD: PASSWORD,
    }
  })
  afterAll(() => cluster?.stop())

  async function asOperator<T>(work: (admin: Admin) => Promise<T>): Promise<T> {
    const admin = kafkaClient(cluster.operatorBrokers).admin()
    await admin.connect()
    return work(admin).finally(() => admin.disconnect())
  }

  /** On everything of this kind whose name begins so. */
  async function grant(kind: 'TOPIC' | 'GROUP', resourceName: string, ...rights: AclOperation[]): Promise<void> {
    const user = { principal: `User:${USER}`, host: '*', permissionType: AclPermissionTypes.ALLOW }
    const resourceType = AclResourceTypes[kind]
    const on = { resourceType, resourceName, resourcePatternType: ResourcePatternTypes.PREFIXED }
    const acl = rights.map((right) => ({ ...user, ...on, operation: AclOperationTypes[right] }))
    await asOperator((admin) => admin.createAcls({ acl }))
  }

  const make = (topic: ITopicConfig, settings: readonly string[]) =>
    asOperator((admin) => {
      const configEntries = settings.map((setting) => {
        const [name = '', value = ''] = setting.split('=')
        return { name, value }
      })
      return makeTopic(admin, { ...topic, configEntries })
    })

  test('says which right on the topic is missing, and takes the log once it is given', async () => {
    const environment = { ...base, KAFKA_TOPIC_PREFIX: 'rights.' }
    const { opening } = await open(environment)
    expect(await refusal(opening)).toBe(
      'Kafka refused to open rights.blocks.ethereum: TOPIC_AUTHORIZATION_FAILED. Give this user the rights Describe, Read and Write on the topic, and Create unless KAFKA_CREATE_TOPICS=off.',
    )
    await grant('TOPIC', 'rights.', 'CREATE', 'DESCRIBE', 'READ', 'WRITE')
    const opened = await open(environment)
    const log = await opened.opening
    await log.append(BLOCKS)
    const stop = new AbortController()
    const reading = log.read(0, stop.signal)[Symbol.asyncIterator]()
    const assigned = reading.next()
    expect(await untilRetried(opened, /group/)).toBe(
      'Failed to find group coordinator (where this repeats, give this user the rights Describe and Read on the consumer group)',
    )
    await grant('GROUP', 'rights.', 'DESCRIBE', 'READ')
    expect(await assigned).toEqual({ done: false, value: [] })
    expect((await reading.next()).value?.[0]?.message).toEqual(BLOCKS[0])
    stop.abort()
    await reading.return?.(undefined)
  })

  test('a topic that the operator makes is refused with what is missing or different', async () => {
    const environment = { ...base, KAFKA_TOPIC_PREFIX: 'made.', KAFKA_CREATE_TOPICS: 'off', KAFKA_REPLICATION: '1' }
    await grant('TOPIC', 'made.', 'DESCRIBE', 'DESCRIBE_CONFIGS', 'READ', 'WRITE')
    await grant('GROUP', 'made.', 'DESCRIBE', 'READ')
    const missing = await refusal((await open(environment)).opening)
    expect(missing).toBe(
      'The topic made.blocks.ethereum cannot be used: it is missing. Make it: kafka-topics.sh --create --topic made.blocks.ethereum --partitions 1 --replication-factor 1 --config cleanup.policy=delete --config retention.ms=604800000 --config retention.bytes=-1 --config min.insync.replicas=1.',
    )
    const topic = 'made.blocks.ethereum'
    await make({ topic, numPartitions: 2, replicationFactor: 1 }, ['cleanup.policy=compact', 'retention.ms=1000'])
    expect(await refusal((await open(environment)).opening)).toBe(
      'The topic made.blocks.ethereum cannot be used: it has 2 partitions, so the order of the chain is lost in it. Delete it, and make it with one; cleanup.policy is compact, not delete; retention.ms is 1000, not 604800000.',
    )
    await asOperator((admin) => admin.deleteTopics({ topics: [topic] }))
    const printed = [...missing.matchAll(/--config (\S+=[^\s.]+)/g)].map(([, setting = '']) => setting)
    await make({ topic, numPartitions: 1, replicationFactor: 1 }, printed)
    await writeAndRead(environment)
  })
})
