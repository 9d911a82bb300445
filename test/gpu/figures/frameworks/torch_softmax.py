import torch


def forward(x, y):
    torch.softmax(x, dim=1, out=y)


def softmax(x, y, change):
    forward(x, y)
