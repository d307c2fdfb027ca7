# The command line, with models behind endpoints: docker build -f docker/cpu.Dockerfile .
FROM python:3.12-slim

WORKDIR /app
COPY pyproject.toml constraints.txt README.md LICENSE CHANGELOG.md ./
COPY bench2robust bench2robust
COPY configs configs
RUN pip install --no-cache-dir -c constraints.txt '.[chat]'

RUN useradd --create-home runner && mkdir runs && chown runner runs
USER runner
VOLUME /app/runs
ENTRYPOINT ["bench2robust"]
CMD ["--help"]
