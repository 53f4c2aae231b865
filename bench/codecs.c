/* SPDX-License-Identifier: MIT */
/*
 * Work for libraries whose inner loops are assembly: codecs jpeg|nettle|gmp SECONDS. See no_cfi.py.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* jpeglib.h needs stdio.h above. */
#include <gmp.h>
#include <jpeglib.h>
#include <nettle/aes.h>
#include <nettle/sha1.h>
#include <nettle/sha2.h>
#include <nettle/gcm.h>

#define WIDTH  640
#define HEIGHT 360

static unsigned char picture[WIDTH * HEIGHT * 3];

static void encode(unsigned char **bytes, unsigned long *size)
{
	struct jpeg_compress_struct c;
	struct jpeg_error_mgr errors;

	c.err = jpeg_std_error(&errors);
	jpeg_create_compress(&c);
	jpeg_mem_dest(&c, bytes, size);
	c.image_width = WIDTH;
	c.image_height = HEIGHT;
	c.input_components = 3;
	c.in_color_space = JCS_RGB;
	jpeg_set_defaults(&c);
	jpeg_start_compress(&c, TRUE);
	while (c.next_scanline < HEIGHT) {
		JSAMPROW row = picture + c.next_scanline * WIDTH * 3;

		jpeg_write_scanlines(&c, &row, 1);
	}
	jpeg_finish_compress(&c);
	jpeg_destroy_compress(&c);
}

static void decode(const unsigned char *bytes, unsigned long size)
{
	struct jpeg_decompress_struct d;
	struct jpeg_error_mgr errors;

	d.err = jpeg_std_error(&errors);
	jpeg_create_decompress(&d);
	jpeg_mem_src(&d, bytes, size);
	jpeg_read_header(&d, TRUE);
	jpeg_start_decompress(&d);
	while (d.output_scanline < d.output_height) {
		JSAMPROW row = picture + d.output_scanline * WIDTH * 3;

		jpeg_read_scanlines(&d, &row, 1);
	}
	jpeg_finish_decompress(&d);
	jpeg_destroy_decompress(&d);
}

static void work_jpeg(void)
{
	unsigned char *bytes = NULL;
	unsigned long size = 0;

	encode(&bytes, &size);
	decode(bytes, size);
	free(bytes);
}

static void work_nettle(void)
{
	static const uint8_t key[32], iv[16];
	uint8_t digest[SHA512_DIGEST_SIZE];
	struct aes256_ctx aes;
	struct gcm_aes256_ctx gcm;
	struct sha1_ctx sha1;
	struct sha256_ctx sha256;
	struct sha512_ctx sha512;

	aes256_set_encrypt_key(&aes, key);
	aes256_encrypt(&aes, sizeof(picture) / 16 * 16, picture, picture);
	gcm_aes256_set_key(&gcm, key);
	gcm_aes256_set_iv(&gcm, 12, iv);
	gcm_aes256_encrypt(&gcm, sizeof(picture), picture, picture);
	sha1_init(&sha1);
	sha1_update(&sha1, sizeof(picture), picture);
	sha1_digest(&sha1, SHA1_DIGEST_SIZE, digest);
	sha256_init(&sha256);
	sha256_update(&sha256, sizeof(picture), picture);
	sha256_digest(&sha256, SHA256_DIGEST_SIZE, digest);
	sha512_init(&sha512);
	sha512_update(&sha512, sizeof(picture), picture);
	sha512_digest(&sha512, SHA512_DIGEST_SIZE, digest);
}

static void work_gmp(void)
{
	mpz_t a, b, c;

	mpz_init_set_ui(a, 3);
	mpz_init(b);
	mpz_init(c);
	mpz_pow_ui(a, a, 20000);
	mpz_pow_ui(b, a, 3);
	mpz_sub_ui(b, b, 2);
	for (int i = 0; i < 4; i++) {
		mpz_mul(c, a, b);
		mpz_tdiv_r(c, c, b);
		mpz_gcd(c, c, b);
	}
	mpz_set_ui(c, 7);
	mpz_tdiv_q_2exp(b, b, 90000);
	mpz_setbit(b, 0);
	mpz_powm(c, c, b, b);
	mpz_clears(a, b, c, NULL);
}

int main(int argc, char **argv)
{
	void (*work)(void) = argc == 3 && !strcmp(argv[1], "jpeg")     ? work_jpeg
			     : argc == 3 && !strcmp(argv[1], "nettle") ? work_nettle
			     : argc == 3 && !strcmp(argv[1], "gmp")    ? work_gmp
								       : NULL;
	time_t end = time(NULL) + (argc == 3 ? atoi(argv[2]) : 0);

	if (!work) {
		fprintf(stderr, "usage: codecs jpeg|nettle|gmp SECONDS\n");
		return 2;
	}
	for (size_t i = 0; i < sizeof(picture); i++)
		picture[i] = (unsigned char)(i * i >> 7 ^ i);
	do
		work();
	while (time(NULL) < end);
	return 0;
}
