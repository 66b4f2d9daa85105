/** Hints for errors of Kafka and of the connection to it: which variable or right to change. */

/** By the protocol's error code. */
const OF_CODE: Readonly<Record<string, string>> = {
  SASL_AUTHENTICATION_FAILED:
    'The broker does not accept the credentials: check KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD',
  SASL_TOKEN_REFUSED:
    'The broker does not accept the token: check what KAFKA_SASL_TOKEN_FILE holds, or KAFKA_SASL_TOKEN_COMMAND prints',
  UNSUPPORTED_SASL_MECHANISM: 'The broker does not offer this mechanism: change KAFKA_SASL_MECHANISM',
  ILLEGAL_SASL_STATE:
    'The port wants no SASL, or another kind: check KAFKA_SASL_MECHANISM and the port in KAFKA_BROKERS',
  TOPIC_AUTHORIZATION_FAILED:
    'Give this user the rights Describe, Read and Write on the topic, and Create unless KAFKA_CREATE_TOPICS=off',
  GROUP_AUTHORIZATION_FAILED: 'Give this user the rights Describe and Read on the consumer group',
  CLUSTER_AUTHORIZATION_FAILED:
    'Give this user the right Create on the topic, or make the topics and set KAFKA_CREATE_TOPICS=off; brokers before 2.8 need IdempotentWrite on the cluster too',
  MESSAGE_TOO_LARGE: 'Raise max.message.bytes of the topic to at least 1048588',
  RECORD_LIST_TOO_LARGE: 'Raise max.message.bytes of the topic to at least 1048588',
}

/** By the text of an error below the protocol: TLS and sockets. */
const OF_TEXT: readonly (readonly [RegExp, string])[] = [
  [/certificate has expired/, "the broker's certificate has expired: renew it on the broker"],
  [
    /self.signed certificate|unable to (verify|get)/,
    "KAFKA_SSL_CA_FILE does not hold the authority that signed the broker's certificate",
  ],
  [
    /altnames|does not match certificate/,
    "KAFKA_BROKERS names the broker otherwise than the broker's certificate does",
  ],
  [
    /before secure TLS connection|wrong version number|packet length too long|EPROTO/,
    'this port does not speak TLS: take another port in KAFKA_BROKERS, or KAFKA_SSL=off',
  ],
  [
    /certificate required|bad certificate|handshake failure/,
    'the broker wants a certificate: set KAFKA_SSL_CERT_FILE and KAFKA_SSL_KEY_FILE',
  ],
  // kafkajs drops the broker's own answer.
  [/find group coordinator/, 'where this repeats, give this user the rights Describe and Read on the consumer group'],
  [/SASL|authentication/i, 'check KAFKA_SASL_MECHANISM, KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD'],
  [/disconnected|ECONNRESET|Closed connection/i, 'where this repeats, the port may want TLS: set KAFKA_SSL=on'],
]

export function hintOfCode(code: string): string {
  return OF_CODE[code] ?? 'Check the rights of this user and the limits of the topic'
}

/** The text of an error, and a hint where there is one. */
export function explained(text: string): string {
  const [, hint] = OF_TEXT.find(([pattern]) => pattern.test(text)) ?? []
  return hint === undefined ? text : `${text} (${hint})`
}
