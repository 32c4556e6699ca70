# guards: AD211
"""A transformer encoder whose evaluation takes the fast path of nested tensors."""
import torch
from torch import nn
torch.manual_seed(0)
enc=nn.TransformerEncoder(nn.TransformerEncoderLayer(16,2,32,batch_first=True),2)
opt=torch.optim.SGD(enc.parameters(),lr=.1)
x=torch.randn(3,5,16); mask=torch.zeros(3,5,dtype=torch.bool); mask[1,3:]=True
for i in range(5):
    enc.train(); opt.zero_grad(); enc(x).pow(2).mean().backward(); opt.step()
    enc.eval()
    with torch.no_grad(): o=enc(x,src_key_padding_mask=mask)
    print(o.shape, o.double().sum().item(), o[1,4,0].item())
