# The harness for models on servers and for functions of your own:
#   docker build -t ragen-bench .
#   docker run --rm -v "$PWD:/work" -e OPENAI_API_KEY ragen-bench evaluate openai/NAME --base-url URL
FROM python:3.13-slim AS build
WORKDIR /source
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.13-slim
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    --mount=type=bind,source=constraints.txt,target=/constraints.txt \
    pip install --no-cache-dir -c /constraints.txt "$(echo /wheels/*.whl)[openai]" \
    && useradd --create-home --uid 1000 player
USER 1000
WORKDIR /work
ENTRYPOINT ["ragen-bench"]
CMD ["--help"]
