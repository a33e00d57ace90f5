# llama.cpp's command-line helpers double the build time, and nothing here uses them.
set(LLAMA_BUILD_COMMON OFF)
