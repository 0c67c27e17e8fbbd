/* `do_all(task, storage)` of the file that includes this, for whatever is stored and with the instructions at hand. No guard: the file
   has a `task` and a `do_all` of its own. */
typedef void (*doer)(const task *);
static void do_single(const task *asked) { do_all(asked, SINGLE); }
static void do_double(const task *asked) { do_all(asked, DOUBLE); }
static void do_prepared(const task *asked) { do_all(asked, PREPARED); }
#if HAVE_AVX2_CHOICE
WITH_AVX2 static void do_single_avx2(const task *asked) { do_all(asked, SINGLE); }
WITH_AVX2 static void do_double_avx2(const task *asked) { do_all(asked, DOUBLE); }
WITH_AVX2 static void do_prepared_avx2(const task *asked) { do_all(asked, PREPARED); }
#endif

static doer doer_for(enum storage stored)
{
#if HAVE_AVX2_CHOICE
    if (has_avx2()) {
        return stored == SINGLE ? do_single_avx2 : stored == DOUBLE ? do_double_avx2 : do_prepared_avx2;
    }
#endif
    return stored == SINGLE ? do_single : stored == DOUBLE ? do_double : do_prepared;
}
