// SPDX-License-Identifier: Apache-2.0
/* Secrets, as logs of programs have them; and what is none. */
#include "events/redact.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static void check(const char *line, const char *kept)
{
	struct cam_buf out = CAM_BUF(1u << 20);
	unsigned found = cam_redact(cam_text_of(line), &out);
	cam_buf_put_u8(&out, 0);
	assert_int_equal(cam_buf_error(&out), 0);
	assert_string_equal((const char *)out.data, kept);
	assert_int_equal(found > 0, strcmp(line, kept) != 0);
	/* Once more changes nothing: a capsule does, to what was read from a store. */
	cam_buf_clear(&out);
	cam_redact(cam_text_of(kept), &out);
	cam_buf_put_u8(&out, 0);
	assert_string_equal((const char *)out.data, kept);
	cam_buf_free(&out);
}

static void secrets_are_taken_out(void **state)
{
	(void)state;
	check("login password=hunter2 from 10.0.0.1", "login password=[redacted] from 10.0.0.1");
	check("PGPASSWORD='s p' psql", "PGPASSWORD='[redacted]' psql");
	check("{\"api_key\": \"9f8e7d\", \"n\": 1}", "{\"api_key\": \"[redacted]\", \"n\": 1}");
	check("aws_secret_access_key = abc/def+ghi", "aws_secret_access_key = [redacted]");
	check("GET /?token=abc&x=1", "GET /?token=[redacted]&x=1");
	check("mysql --password hunter2 -h db", "mysql --password [redacted] -h db");
	check("Authorization: Bearer abc.def.ghi", "Authorization: [redacted]");
	check("authorization: Basic dXNlcjpwYXNz x", "authorization: [redacted] x");
	check("sent bearer abcdef0123456789", "sent bearer [redacted]");
	check("https://bob:pw@host/path", "https://bob:[redacted]@host/path");
	check("redis://:pw@host:6379/0", "redis://:[redacted]@host:6379/0");
	check("id AKIAIOSFODNN7EXAMPLE used", "id [redacted] used");
	check("ghp_0123456789abcdefghijABCDEFGHIJ012345", "[redacted]");
	check("-----BEGIN RSA PRIVATE KEY----- MIIE", "[redacted]");
	check("Cookie: sid=1", "Cookie: [redacted]");
	check("pwd=a pwd=b", "pwd=[redacted] pwd=[redacted]");
	check("password=\"a\\\"b\" c", "password=\"[redacted]\" c");
	check("password=", "password=");
	check("Cookie: theme=dark; session=abc; x=y", "Cookie: [redacted]");
	check("cookie: \"a=b; c=d\" next", "cookie: \"[redacted]\" next");
	check("curl -H 'Cookie: a=b; c=d' http://h", "curl -H 'Cookie: [redacted]' http://h");
	check("cookie=abc&x=1", "cookie=[redacted]&x=1");
	check("Authorization: Digest username=\"bob\", response=\"6629fae\"",
	      "Authorization: [redacted]");
	check("{\"log\":\"{\\\"password\\\":\\\"hunter2\\\",\\\"n\\\":1}\"}",
	      "{\"log\":\"{\\\"password\\\":\\\"[redacted]\\\",\\\"n\\\":1}\"}");
	check("secretKey: abc, accessKey=def", "secretKey: [redacted], accessKey=[redacted]");
	check("https://bob:p@ss@host/path", "https://bob:[redacted]@host/path");
	check("password=[redacted]hunter2 x", "password=[redacted] x");
}

static void the_rest_stays(void **state)
{
	(void)state;
	static const char *const lines[] = {
		"",
		"ena 0000:00:05.0 eth0: Tx timeout",
		"bypass: 1",
		"monkey=banana",
		"http://host:8080/a@b",
		"https://example.org/path?x=1",
		"the bearer of news",
		"password changed for root",
		"token bucket is full",
		"\x1b[31m \xff\xfe \x01",
		"::::////@@@@",
		"https://host:8080/a:b@c",
		"the digest: sha256",
		"\\\\\\\\\\\"",
	};
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		check(lines[i], lines[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(secrets_are_taken_out),
		cmocka_unit_test(the_rest_stays),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
