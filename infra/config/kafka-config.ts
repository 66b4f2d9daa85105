/** Kafka as the environment names it: brokers, TLS, SASL, and the settings of topics. */
import { execFile } from 'node:child_process'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import type { KafkaConfig as ClientConfig, Mechanism, SASLOptions } from 'kafkajs'
import { z } from 'zod'
import { BadConfiguration } from './bad-configuration.ts'
import { bearerToken } from './bearer-token.ts'
import { listOf, matching, numberUpTo } from './values.ts'

/** The address of Kafka, and the settings of its topics. */
export type KafkaConnection = {
  brokers: readonly string[]
  /** Before the names of topics and groups, where several deployments share a cluster. */
  prefix?: string
  security?: Pick<ClientConfig, 'ssl' | 'sasl'>
  topics?: TopicRules
  compression?: Compression
  /** Records are signed with the first, and read where one of them has signed; absent: no record is signed. */
  signingKeys?: readonly [string, ...string[]] | undefined
}

export const COMPRESSIONS = ['gzip', 'none'] as const
export type Compression = (typeof COMPRESSIONS)[number]

export type TopicRules = {
  /** False: a missing topic is an error, and so is one with other settings. */
  create: boolean
  /** Absent: 3, or as many brokers as there are where they are fewer. */
  replicas?: number | undefined
  /** Absent: one fewer than the replicas, at least one. */
  minInsyncReplicas?: number | undefined
  /** Absent: 7 days. */
  retentionMs?: number | undefined
}

const ON_OFF = ['on', 'off'] as const
const onOff = z.enum(ON_OFF, 'is neither on nor off')
const count = (max: number) => numberUpTo(max, /^[1-9]\d{0,4}$/, `is not a number from 1 to ${max}`)

const MECHANISMS = ['plain', 'scram-sha-256', 'scram-sha-512', 'oauthbearer'] as const
type MechanismName = (typeof MECHANISMS)[number]

export const kafkaVariables = {
  KAFKA_BROKERS: listOf(
    matching(/^(\[[0-9A-Fa-f:.]+\]|[^\s:[\]]+):\d{1,5}$/, 'is not a list of host:port, comma separated'),
    'names no broker',
  ).optional(),
  KAFKA_SSL: onOff.optional(),
  KAFKA_SSL_CA_FILE: z.string().optional(),
  KAFKA_SSL_CERT_FILE: z.string().optional(),
  KAFKA_SSL_KEY_FILE: z.string().optional(),
  KAFKA_SASL_MECHANISM: z
    .string()
    .toLowerCase()
    .pipe(z.enum(MECHANISMS, `is none of ${MECHANISMS.join(', ')}`))
    .optional(),
  KAFKA_SASL_USERNAME: z.string().optional(),
  KAFKA_SASL_USERNAME_FILE: z.string().optional(),
  KAFKA_SASL_PASSWORD: z.string().optional(),
  KAFKA_SASL_PASSWORD_FILE: z.string().optional(),
  KAFKA_SASL_TOKEN_FILE: z.string().optional(),
  KAFKA_SASL_TOKEN_COMMAND: z.string().optional(),
  KAFKA_SIGNING_KEY_FILE: z.string().optional(),
  KAFKA_TOPIC_PREFIX: matching(
    /^[A-Za-z0-9._-]{1,100}$/,
    'is not 1 to 100 letters, digits, dots, underscores and hyphens',
  ).optional(),
  KAFKA_CREATE_TOPICS: onOff.default('on'),
  KAFKA_REPLICATION: count(100).optional(),
  KAFKA_MIN_INSYNC_REPLICAS: count(100).optional(),
  KAFKA_RETENTION_DAYS: count(36_500).optional(),
  KAFKA_COMPRESSION: z.enum(COMPRESSIONS, `is none of ${COMPRESSIONS.join(', ')}`).default('gzip'),
} as const

type KafkaVariables = z.infer<z.ZodObject<typeof kafkaVariables>>

/** A connection, and the passwords in it, which no log may show. */
export type KafkaConfig = KafkaConnection & { secrets: readonly string[] }

const DAY_MS = 86_400_000

/** Undefined where no broker is named. */
export function kafkaConfigOf(it: KafkaVariables): KafkaConfig | undefined {
  if (it.KAFKA_BROKERS === undefined) return undefined
  const problems: string[] = []
  const files = fileReader(problems)
  const ssl = tlsOf(it, files, problems)
  const { sasl, secrets } = saslOf(it, files, problems)
  const signingKeys = signingKeysOf(it, files, problems)
  const { KAFKA_REPLICATION: replicas, KAFKA_MIN_INSYNC_REPLICAS: minInsyncReplicas, KAFKA_RETENTION_DAYS: days } = it
  if (replicas !== undefined && minInsyncReplicas !== undefined && minInsyncReplicas > replicas)
    problems.push('KAFKA_MIN_INSYNC_REPLICAS is more than KAFKA_REPLICATION: no write would be acknowledged')
  if (problems.length > 0) throw new BadConfiguration(problems)
  return {
    brokers: it.KAFKA_BROKERS,
    prefix: it.KAFKA_TOPIC_PREFIX ?? '',
    security: { ...(ssl !== undefined && { ssl }), ...(sasl && { sasl }) },
    topics: {
      create: it.KAFKA_CREATE_TOPICS === 'on',
      replicas,
      minInsyncReplicas,
      retentionMs: days === undefined ? undefined : days * DAY_MS,
    },
    compression: it.KAFKA_COMPRESSION,
    ...(signingKeys && { signingKeys }),
    secrets: [...secrets, ...(signingKeys ?? [])],
  }
}

/** The text of the file that a variable names, without white space around it; undefined where the variable is not set. */
type Files = (variable: keyof KafkaVariables & string, path: string | undefined) => string | undefined

function fileReader(problems: string[]): Files {
  return (variable, path) => {
    if (path === undefined) return undefined
    try {
      return readFileSync(path, 'utf8').trim()
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
      problems.push(`${variable} names a file that cannot be read (${code})`)
      return undefined
    }
  }
}

function tlsOf(it: KafkaVariables, read: Files, problems: string[]): ClientConfig['ssl'] {
  const { KAFKA_SSL: wanted, KAFKA_SSL_CA_FILE, KAFKA_SSL_CERT_FILE, KAFKA_SSL_KEY_FILE } = it
  const named = [KAFKA_SSL_CA_FILE, KAFKA_SSL_CERT_FILE, KAFKA_SSL_KEY_FILE].some((file) => file !== undefined)
  if (wanted === 'off' && named) problems.push('KAFKA_SSL is off, and KAFKA_SSL_…_FILE names a file for it')
  if (wanted === 'off' || (wanted === undefined && !named)) return undefined
  if ((KAFKA_SSL_CERT_FILE === undefined) !== (KAFKA_SSL_KEY_FILE === undefined))
    problems.push('KAFKA_SSL_CERT_FILE and KAFKA_SSL_KEY_FILE belong together: one of them is missing')
  const ca = read('KAFKA_SSL_CA_FILE', KAFKA_SSL_CA_FILE)
  const cert = read('KAFKA_SSL_CERT_FILE', KAFKA_SSL_CERT_FILE)
  const key = read('KAFKA_SSL_KEY_FILE', KAFKA_SSL_KEY_FILE)
  if (ca !== undefined && !certificateIn(ca)) problems.push('KAFKA_SSL_CA_FILE holds no certificate in PEM')
  const certificate = cert === undefined ? undefined : certificateIn(cert)
  if (cert !== undefined && !certificate) problems.push('KAFKA_SSL_CERT_FILE holds no certificate in PEM')
  const privateKey = key === undefined ? undefined : keyIn(key)
  if (key !== undefined && !privateKey)
    problems.push('KAFKA_SSL_KEY_FILE holds no private key in PEM without a password')
  if (certificate && privateKey && !certificate.checkPrivateKey(privateKey))
    problems.push('KAFKA_SSL_KEY_FILE is not the key of the certificate in KAFKA_SSL_CERT_FILE')
  return {
    ...(ca !== undefined && { ca: [ca] }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
  }
}

function certificateIn(text: string): X509Certificate | undefined {
  try {
    return new X509Certificate(text)
  } catch {
    return undefined
  }
}

function keyIn(text: string) {
  try {
    return createPrivateKey(text)
  } catch {
    return undefined
  }
}

const MIN_KEY_LENGTH = 32

/** A line each: the first key signs, both verify, so that a key is replaced in steps while records of the old one are read. */
function signingKeysOf(
  { KAFKA_SIGNING_KEY_FILE: path }: KafkaVariables,
  read: Files,
  problems: string[],
): readonly [string, ...string[]] | undefined {
  const text = read('KAFKA_SIGNING_KEY_FILE', path)
  if (text === undefined) return undefined
  const [first = '', ...others] = text.split(/\s*\n\s*/)
  if (others.length > 1 || [first, ...others].some((key) => key.length < MIN_KEY_LENGTH))
    problems.push(`KAFKA_SIGNING_KEY_FILE holds not one or two lines of at least ${MIN_KEY_LENGTH} characters`)
  return [first, ...others]
}

type Sasl = { sasl: SASLOptions | Mechanism | undefined; secrets: readonly string[] }

function saslOf(it: KafkaVariables, read: Files, problems: string[]): Sasl {
  const { KAFKA_SASL_MECHANISM: mechanism } = it
  const given = Object.keys(it).filter((name) => name.startsWith('KAFKA_SASL_') && name !== 'KAFKA_SASL_MECHANISM')
  if (mechanism === undefined) {
    if (given.length > 0) problems.push(`${given[0]} needs KAFKA_SASL_MECHANISM: ${MECHANISMS.join(', ')}`)
    return { sasl: undefined, secrets: [] }
  }
  if (mechanism === 'oauthbearer') return { sasl: bearerOf(it, problems), secrets: [] }
  const username = either(it, 'KAFKA_SASL_USERNAME', mechanism, read, problems)
  const password = either(it, 'KAFKA_SASL_PASSWORD', mechanism, read, problems)
  return { sasl: { mechanism, username, password } as SASLOptions, secrets: [password] }
}

/** The value of a variable, or of the file that its `_FILE` twin names. */
function either(
  it: KafkaVariables,
  name: 'KAFKA_SASL_USERNAME' | 'KAFKA_SASL_PASSWORD',
  mechanism: MechanismName,
  read: Files,
  problems: string[],
): string {
  const path = it[`${name}_FILE`]
  if (it[name] !== undefined && path !== undefined) problems.push(`${name} and ${name}_FILE are both set: keep one`)
  if (it[name] === undefined && path === undefined)
    problems.push(`KAFKA_SASL_MECHANISM=${mechanism} needs ${name} or ${name}_FILE`)
  return it[name] ?? read(`${name}_FILE`, path) ?? ''
}

function bearerOf(it: KafkaVariables, problems: string[]): Mechanism {
  const { KAFKA_SASL_TOKEN_FILE: file, KAFKA_SASL_TOKEN_COMMAND: command } = it
  if ((file === undefined) === (command === undefined))
    problems.push(
      'KAFKA_SASL_MECHANISM=oauthbearer needs KAFKA_SASL_TOKEN_FILE or KAFKA_SASL_TOKEN_COMMAND, and not both',
    )
  return bearerToken(file === undefined ? () => outputOf(command ?? '') : () => readFile(file, 'utf8'))
}

const TOKEN_TIMEOUT_MS = 10_000

/** The error of a failed command quotes neither its output nor its text: both may hold a secret. */
async function outputOf(command: string): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)('sh', ['-c', command], { timeout: TOKEN_TIMEOUT_MS })
    return stdout
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'no exit code'
    throw new Error(`KAFKA_SASL_TOKEN_COMMAND failed (${code}).`)
  }
}
