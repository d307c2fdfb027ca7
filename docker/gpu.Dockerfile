# Training on GPU nodes: docker build -f docker/gpu.Dockerfile .
# PyTorch's wheels bring CUDA themselves; the node needs the driver and its container toolkit.
FROM python:3.12-slim

# Kernels that are compiled while training need a compiler.
RUN apt-get update && apt-get install -y --no-install-recommends gcc g++ \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /app
COPY pyproject.toml constraints.txt README.md LICENSE CHANGELOG.md ./
COPY bench2robust bench2robust
COPY configs configs
RUN pip install --no-cache-dir -c constraints.txt '.[train,chat]'

RUN useradd --create-home runner && mkdir runs && chown runner runs
USER runner
VOLUME /app/runs
ENTRYPOINT ["bench2robust"]
CMD ["--help"]
